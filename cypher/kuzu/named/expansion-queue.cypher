// How many articles wait to be read.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state = 'discovered'
RETURN count(*) AS queue_size
