"""The processes that start and supervise programs: the supervisor and the runners it forks."""
