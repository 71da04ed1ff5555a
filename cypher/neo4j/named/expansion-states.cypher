// How many articles are in which state of the expansion, and how far from the seeds on average.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state IS NOT NULL
RETURN a.expansion_state AS state, count(*) AS count, avg(a.expansion_depth) AS avg_depth
ORDER BY count DESC, state
