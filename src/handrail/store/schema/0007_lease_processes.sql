-- The process with which a lease ends, if it dies before it could give it back; empty: none.
ALTER TABLE leases ADD COLUMN process TEXT NOT NULL DEFAULT '';
