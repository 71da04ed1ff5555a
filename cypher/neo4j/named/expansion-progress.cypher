// How many of the articles that were found so far are read.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state IS NOT NULL
WITH sum(CASE WHEN a.expansion_state IN ['loaded', 'processed'] THEN 1 ELSE 0 END) AS loaded_count, count(*) AS total
RETURN loaded_count, total, CASE WHEN total = 0 THEN 100.0 ELSE 100.0 * loaded_count / total END AS percent_complete
