"""AgentV: its eval files in every dialect, JSON lines, targets and grader scores."""
