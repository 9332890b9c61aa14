"""What a release is still worth for classification, in errors of a decision tree."""

from ppdm_sql.evaluation.evaluating import ErrorRate, Evaluation, evaluate

__all__ = ["ErrorRate", "Evaluation", "evaluate"]
