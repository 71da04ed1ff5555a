MATCH (h:GraphmillHold {key: $key})
SET h._lock = true
REMOVE h._lock
