// The wikis that the project takes articles from.
MATCH (w:Wiki)
WHERE w.projectId = $project
RETURN w.uuid AS uuid, w.name AS name, w._state AS state, w.lang AS lang, w.source AS source, w.location AS location,
  w.contact AS contact, w.rate AS rate, w._crawls AS crawls, w._stale AS stale, w._unswept AS unswept,
  w._moved AS moved
ORDER BY name
