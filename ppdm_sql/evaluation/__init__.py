"""What a release is still worth for classification, in errors of a decision tree."""

from ppdm_sql.evaluation.error_rates import ErrorRate, Evaluation
from ppdm_sql.evaluation.evaluating import EvaluateOptions, evaluate

__all__ = ["ErrorRate", "EvaluateOptions", "Evaluation", "evaluate"]
