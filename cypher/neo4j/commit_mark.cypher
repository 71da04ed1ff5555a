// Fails on the constraint when this very commit has already happened, and waits while it may still be happening.
CREATE (:GraphmillCommit {id: $op, at: datetime.realtime()})
WITH 1 AS created
UNWIND $finished AS id
MATCH (c:GraphmillCommit {id: id})
DELETE c
