// Through the label and not through the claim index: a node that is being moved is in the index twice or not at all,
// and then the sum over the states would not be the number of nodes.
WITH datetime.realtime() AS now
WITH now, now - duration({seconds: $window}) AS since
MATCH (n:%label%)
USING SCAN n:%label%
WHERE n.projectId = $project AND n._state IS NOT NULL
RETURN n._state AS state, count(*) AS count,
    count(CASE WHEN n._state IN $finished AND n._stateChangedAt >= since THEN 1 END) AS finished
