// How many files of these roots, and parts of them, wait to be read and can only be read where they are.
MATCH (n:File|Partition)
WHERE n.projectId = $project AND n._state = 'pending' AND n.root IN $roots AND n._content IS NULL
RETURN labels(n)[0] AS label, n.root AS root, count(*) AS count
ORDER BY label, root
