CREATE INDEX graphmill_%label%_claim IF NOT EXISTS FOR (n:%label%) ON (n.projectId, n._state, n._depth, n._detectedAt)
