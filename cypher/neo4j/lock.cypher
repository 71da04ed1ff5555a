// Takes the write locks in the order of the list and changes nothing. Removing a property that no node ever had takes
// no lock, so it is set first.
UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
SET n._lock = true
REMOVE n._lock
