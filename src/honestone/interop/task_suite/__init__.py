"""`task_suite.yaml` of improvement-evaluator."""
