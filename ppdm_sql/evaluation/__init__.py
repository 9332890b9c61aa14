"""What a release is still worth for classification, in errors of a decision tree."""

from ppdm_sql.evaluation.evaluating import EvaluateOptions, evaluate
from ppdm_sql.evaluation.model import ErrorRate, Evaluation

__all__ = ["ErrorRate", "EvaluateOptions", "Evaluation", "evaluate"]
