"""What can go wrong with an embedder: the whole of it, one request, one text, or one vector."""

from graph_stores.errors import GraphmillError, Misuse


class EmbedderMisuse(Misuse):
    """No text can be embedded like this: the name, the key, the address or the installation is wrong."""

    code = "embedder_misuse"


class EmbedderError(GraphmillError):
    """A text has no vector, and this is why."""

    code = "embedder_failed"


class EmbedderUnavailable(EmbedderError):
    """The embedder could not do it now; `retry_after` is how many seconds it asked to be left alone, if it did."""

    code = "embedder_unavailable"
    transient = True

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class EndpointRefused(EmbedderUnavailable):
    """Nothing listens at the embedder's address, or there is no such host."""

    code = "endpoint_refused"


class RequestFailed(EmbedderUnavailable):
    """The embedder is there but broke on these texts; fewer of them may go through."""

    code = "embedder_request_failed"


class TextRefused(EmbedderError):
    """The embedder will never take one of these texts."""

    code = "text_refused"


class WrongVector(EmbedderError):
    """What came back for a text is not a vector of the embedder's space."""

    code = "wrong_vector"
