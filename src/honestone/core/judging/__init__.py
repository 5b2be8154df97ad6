"""What is judged by what, and the score: rubrics, requests, ballots, scorecards."""
