// Also takes what a process left behind that died right after its commit.
MATCH (c:GraphmillCommit)
WHERE c.id IN $finished OR c.at < datetime.realtime() - duration({hours: 1})
DELETE c
