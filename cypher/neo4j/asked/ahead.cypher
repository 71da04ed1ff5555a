// How many files are in one of the states $files and articles in one of $articles, and how many partitions are not yet read.
MATCH (n:File|Article|Partition)
WHERE n.projectId = $project
  AND ((n:File AND n._state IN $files) OR (n:Article AND n._state IN $articles)
    OR (n:Partition AND n._state IN ['pending', 'parsing']))
RETURN count(*) AS count
