// How many partitions of each run are in which state.
MATCH (p:Partition)
WHERE p.projectId = $project
RETURN p._runId AS run, p._state AS state, count(*) AS count
ORDER BY run, state
