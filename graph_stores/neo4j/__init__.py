"""Neo4j, over Bolt: a server that many processes on many machines share."""

from graph_stores import Credentials
from graph_stores.neo4j.address import Address
from graph_stores.neo4j.connection import Connection
from graph_stores.neo4j.store import Neo4jStore
from graph_stores.neo4j.values import sendable_key


async def open(
    url: str, *, project: str, credentials: Credentials | None = None, create: bool = False, deadline: float = 60.0
) -> Neo4jStore:
    """Connect to the server. It makes no difference whether to `create`: a database is there or it is not."""
    key = sendable_key(project)
    connection = Connection.to(Address.parse(url), credentials, deadline)
    store = Neo4jStore(connection, key)
    try:
        await store.connect()
    except BaseException:
        await connection.close()
        raise
    return store


async def check_login(url: str, credentials: Credentials | None, deadline: float) -> None:
    connection = Connection.to(Address.parse(url), credentials, deadline)
    try:
        await connection.verify()
    finally:
        await connection.close()
