// How many files are in one of the states $files and articles in one of $articles, and how many partitions are not yet read.
MATCH (n:File:Article:Partition)
WHERE n.projectId = $project
  AND ((label(n) = 'File' AND list_contains($files, n._state))
    OR (label(n) = 'Article' AND list_contains($articles, n._state))
    OR (label(n) = 'Partition' AND n._state IN ['pending', 'parsing']))
RETURN count(*) AS count
