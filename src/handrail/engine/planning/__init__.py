"""Plan mode and dry runs around running calls: the queue, its runner, the plan file."""
