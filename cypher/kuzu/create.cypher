LOAD FROM $rows
CREATE (:%label% {uuid: uuid, name: name, _state: state, _depth: depth, projectId: $project, _stateChangedAt: $now, _detectedAt: $now %[, |`%property%`: v_%property%]%})
