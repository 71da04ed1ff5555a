// Who works on the graph: workers that were heard of lately, and nodes under a lease that stands.
WITH datetime.realtime() AS now
CALL (now) {
    MATCH (w:Worker) WHERE w._state = 'pending' AND ($project IS NULL OR w.projectId = $project) AND w.heartbeat > now - duration({seconds: $seconds})
    RETURN 'worker ' + coalesce(w.name, w.uuid) AS who
    UNION ALL
    MATCH (h:GraphmillHold) WHERE h.token IS NOT NULL AND ($project IS NULL OR h.projectId = $project) AND h.until > now
    RETURN 'the hold ' + coalesce(h.name, h.key) AS who
}
RETURN who LIMIT 5
