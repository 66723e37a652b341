"""The page of `handrail ui`: sessions, questions, jobs and the record in a browser."""
