"""Where a scenario takes place: one provider, whole or streamed."""

from typing import Any

import pytest
from tests.agents.providers._rules import Entry, Provider, Setting
from tests.agents.providers._server import ProviderServer, Script, Session

from stagepost.agents import LiteLLM


class Place:
    """A provider for one scenario.

    Args:
        server: The server.
        provider: The provider.
        stream: Whether answers are streamed.
        monkeypatch: Sets variables of the environment.
    """

    def __init__(
        self,
        server: ProviderServer,
        provider: Provider,
        stream: bool,  # noqa: FBT001  # a table's column
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.provider = provider
        self._server = server
        self._stream = stream
        self._monkeypatch = monkeypatch
        self._sessions: list[Session] = []

    @property
    def session(self) -> Session:
        """What the last model was asked."""
        return self._sessions[-1]

    def model(self, script: Script | Entry, *, thinking: bool = False, **options: Any) -> LiteLLM:
        """A model that says what the script says.

        Args:
            script: The script; a list, or several lists by a word of the prompt.
            thinking: Whether the model thinks.
            options: What else it is told.
        """
        session = self._server.session(self.provider, script if isinstance(script, list | dict) else [script])  # type: ignore[list-item]  # the check does not narrow
        self._sessions.append(session)
        return self._litellm(session, options, thinking=thinking)

    def again(self, *, thinking: bool = False) -> LiteLLM:
        """Another model in front of the same session, as another process would have it."""
        return self._litellm(self.session, {}, thinking=thinking)

    def at(self, provider: Provider) -> "Place":
        """The same place at another provider."""
        return Place(self._server, provider, self._stream, self._monkeypatch)

    def check(self) -> None:
        """See that nothing was refused, and that all was said."""
        for session in self._sessions:
            refused = [(each.rule, each.message) for each in session.refusals]
            assert not refused, refused
            assert session.unsaid == 0, f"{session.unsaid} answers of the script were not asked for"

    def _litellm(self, session: Session, options: dict[str, Any], *, thinking: bool) -> LiteLLM:
        setting = self._setting(thinking=thinking)
        for name, value in setting.environ.items():
            self._monkeypatch.setenv(name, value)
        return LiteLLM(
            setting.model,
            api_base=f"{session.address}{setting.base}",
            api_key="sk-none",
            timeout=10,
            stream=self._stream,
            options={**setting.options, **options, "extra_headers": session.headers},
        )

    def _setting(self, *, thinking: bool) -> Setting:
        if not thinking:
            return self.provider.setting
        assert self.provider.thinking is not None
        return self.provider.thinking
