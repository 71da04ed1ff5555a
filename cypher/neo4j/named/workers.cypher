// The processes that work on the graph or did in the last day, when each was last heard of, and how many nodes it has in hand.
OPTIONAL MATCH (n)
WHERE n.projectId = $project AND n._leaseOwner IS NOT NULL
WITH n._leaseOwner AS owner, count(n) AS held
WITH collect({owner: owner, held: held}) AS holdings
MATCH (w:Worker)
WHERE w.projectId = $project
RETURN w.host AS host, w.process AS process, w.version AS version, w.stages AS stages, w.heartbeat AS heartbeat,
    reduce(sum = 0, each IN [each IN holdings WHERE each.owner = w.name] | sum + each.held) AS holds,
    w._errorMessage AS ended
ORDER BY heartbeat DESC, host, process
