// All of graphmill's bookkeeping, once nothing in the database is graphmill's any more.
MATCH (n:GraphmillMeta|GraphmillCommit|GraphmillHold)
DETACH DELETE n
