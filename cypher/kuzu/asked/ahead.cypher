// How many files are in one of the states $files, articles in one of $articles and partitions in one of $partitions, without what
// waits for one of $roots or $wikis, which are missing, and partitions of $unread that wait.
MATCH (n:File:Article:Partition)
WHERE n.projectId = $project
  AND ((label(n) = 'File' AND list_contains($files, n._state)
      AND NOT (n._state = 'pending' AND n.root IS NOT NULL AND list_contains($roots, n.root) AND n._content IS NULL))
    OR (label(n) = 'Article' AND list_contains($articles, n._state)
      AND NOT (n._state IN ['pending', 'parsed'] AND n.wiki IS NOT NULL AND list_contains($wikis, n.wiki)))
    OR (label(n) = 'Partition' AND list_contains($partitions, n._state)
      AND NOT (n._state = 'pending' AND n.root IS NOT NULL AND list_contains($unread, n.root))))
RETURN count(*) AS count
