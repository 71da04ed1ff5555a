// What waits in a state, read once when a stage is first asked for; from then on the owner knows.
MATCH (n:%label%) WHERE n.projectId = $project AND n._state = $waiting
RETURN n.uuid, n._depth, n._detectedAt, n._notBefore
