"""Inside a coding agent: which session owns which run, and what the agent's hooks answer."""
