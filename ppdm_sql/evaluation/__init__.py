"""What a release is still worth for classification, in errors of a decision tree."""

from ppdm_sql.evaluation.evaluating import ErrorRate, EvaluateOptions, Evaluation, evaluate

__all__ = ["ErrorRate", "EvaluateOptions", "Evaluation", "evaluate"]
