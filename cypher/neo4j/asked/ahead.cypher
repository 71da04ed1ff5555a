// How many files are in one of the states $files, articles in one of $articles and partitions in one of $partitions, without what
// waits for one of $roots or $wikis, which are missing, and partitions of $unread that wait.
MATCH (n:File|Article|Partition)
WHERE n.projectId = $project
  AND ((n:File AND n._state IN $files
      AND NOT (n._state = 'pending' AND n.root IS NOT NULL AND n.root IN $roots AND n._content IS NULL))
    OR (n:Article AND n._state IN $articles
      AND NOT (n._state IN ['pending', 'parsed'] AND n.wiki IS NOT NULL AND n.wiki IN $wikis))
    OR (n:Partition AND n._state IN $partitions
      AND NOT (n._state = 'pending' AND n.root IS NOT NULL AND n.root IN $unread)))
RETURN count(*) AS count
