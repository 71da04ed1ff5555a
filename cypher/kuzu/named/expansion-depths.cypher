// How many articles are how many links away from the seeds.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state IS NOT NULL
RETURN a.expansion_depth AS depth, count(*) AS count
ORDER BY depth
