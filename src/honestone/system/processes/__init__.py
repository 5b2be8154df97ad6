"""Other programs: started, confined, watched and ended."""
