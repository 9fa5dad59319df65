"""Roll-out and limits: who gets the new way, and who has to wait."""

from typing import Any

import pytest
from limits.aio.storage import MemoryStorage
from pydantic import ValidationError

from stagepost.service._http._errors import told
from stagepost.service.channels import Load, LoadLimits, LoadRefused, Rollout

WHO: Any = {"user": "ann", "channel": "sms"}


@pytest.mark.parametrize(
    ("rollout", "way"),
    [
        (Rollout(), "new"),
        (Rollout(enabled=False), "old"),
        (Rollout(share=0), "old"),
        (Rollout(share=0, shadow=True), "shadow"),
        (Rollout(share=0, users={"ann": True}), "new"),
        (Rollout(share=1, users={"ann": False}), "old"),
        (Rollout(share=0, channels={"sms": True}), "new"),
        (Rollout(channels={"sms": False}), "old"),
        (Rollout(channels={"sms": False}, users={"ann": True}), "new"),
        (Rollout(enabled=False, users={"ann": True}, shadow=True), "old"),
    ],
)
def test_the_first_rule_that_says_something_holds(rollout: Rollout, way: str) -> None:
    assert rollout.way("c-1", **WHO) == way


def test_a_conversation_keeps_its_way_until_the_flag_is_taken_away() -> None:
    assert Rollout(share=0).way("c-1", **WHO, decided="new") == "new"
    assert Rollout(share=1).way("c-1", **WHO, decided="old") == "old"
    assert Rollout(enabled=False).way("c-1", **WHO, decided="new") == "old"


def test_a_share_is_drawn_by_the_conversation_and_grows() -> None:
    def chosen(rollout: Rollout) -> set[int]:
        return {number for number in range(2000) if rollout.way(f"c-{number}", **WHO) == "new"}

    few, some, others = chosen(Rollout(share=0.1)), chosen(Rollout(share=0.3)), chosen(Rollout(share=0.1, salt="b"))
    assert 150 < len(few) < 250
    assert few < some
    assert 500 < len(some) < 700
    assert few != others
    assert few == chosen(Rollout(share=0.1))


def load(**limits: Any) -> Load:
    nothing = dict.fromkeys(("requests", "at_once", "tenant_requests", "user_requests", "tenant_tokens"))
    return Load(LoadLimits(**{**nothing, "tenant_dollars": None, **limits}))


async def ask(load: Load, tenant: str = "acme", user: str = "ann") -> None:
    async with load.request(tenant=tenant, user=user):
        pass


@pytest.mark.parametrize(
    ("limits", "limit", "others"),
    [
        ({"requests": "2/hour"}, "requests of all", []),
        ({"tenant_requests": "2/hour"}, "requests of the tenant", [("globex", "ann")]),
        ({"user_requests": "2/hour"}, "requests of the user", [("globex", "ann"), ("acme", "bob")]),
    ],
)
async def test_requests_are_counted_for_all_tenants_and_users(
    limits: dict[str, str], limit: str, others: list[tuple[str, str]]
) -> None:
    counted = load(**limits)
    await ask(counted)
    await ask(counted)
    with pytest.raises(LoadRefused, match=f"the limit of {limit} is reached \\(2 per 1 hour\\)") as found:
        await ask(counted)
    assert found.value.limit == limit
    assert 1 <= found.value.retry_after <= 3600
    for tenant, user in others:
        await ask(counted, tenant, user)
    assert counted.open == 0


async def test_so_many_requests_are_under_way_at_once() -> None:
    counted = load(at_once=1)
    async with counted.request(tenant="acme", user="ann"):
        assert counted.open == 1
        with pytest.raises(LoadRefused, match="requests at once"):
            await ask(counted)
    await ask(counted)


@pytest.mark.parametrize(
    ("limits", "spent", "limit"),
    [
        ({"tenant_tokens": 1000}, {"tokens": 1001}, r"tokens of the tenant is reached \(1000 per 1 day\)"),
        ({"tenant_dollars": 0.5}, {"dollars": 0.5}, r"dollars of the tenant is reached \(0.5 \$ per 1 day\)"),
    ],
)
async def test_a_tenant_that_has_spent_its_day_is_refused(
    limits: dict[str, Any], spent: dict[str, Any], limit: str
) -> None:
    counted = load(**limits)
    await ask(counted)
    await counted.spend(tenant="acme", **spent)
    with pytest.raises(LoadRefused, match=limit):
        await ask(counted)
    await ask(counted, "globex")


async def test_environments_are_counted_apart_in_one_storage() -> None:
    storage = MemoryStorage()
    limits = LoadLimits(requests="1/hour")
    production, staging = (Load(limits, storage=storage, environment=each) for each in ("production", "staging"))
    await ask(production)
    await ask(staging)
    with pytest.raises(LoadRefused):
        await ask(production)


async def test_the_defaults_are_those_of_the_specification() -> None:
    counted = Load()
    for _ in range(10):
        await ask(counted)
    with pytest.raises(LoadRefused, match=r"requests of the user is reached \(10 per 1 minute\)"):
        await ask(counted)
    await counted.spend(tenant="acme", tokens=1_000_000)
    with pytest.raises(LoadRefused, match="tokens"):
        await ask(counted, user="bob")


def test_a_route_answers_with_429_and_when_to_come_again() -> None:
    error = LoadRefused("requests of the user", "10 per 1 minute", 12.3)
    found = told(error)
    assert found is not None
    answer = found.as_json()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "13")


@pytest.mark.parametrize(
    "given",
    [
        {"requests": "banana"},
        {"user_requests": "ten/minute"},
        {"tenant_requests": "10/minute; often"},
        {"tenant_dollars": float("nan")},
        {"tenant_dollars": float("inf")},
        {"at_once": 0},
    ],
)
def test_limits_that_nobody_could_count_are_refused_when_they_are_read(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        LoadLimits(**given)


@pytest.mark.parametrize(
    "spent", [{"tokens": -90}, {"dollars": float("nan")}, {"dollars": float("inf")}, {"dollars": -9.0}]
)
async def test_what_is_no_amount_is_not_counted_and_gives_nothing_back(spent: Any) -> None:
    load = Load(LoadLimits(tenant_tokens=100, tenant_dollars=10))
    await load.spend(tenant="acme", tokens=95, dollars=9.5)
    await load.spend(tenant="acme", **spent)
    async with load.request(tenant="acme", user="ann"):
        await load.spend(tenant="acme", tokens=5)
    with pytest.raises(LoadRefused, match="tokens"):
        async with load.request(tenant="acme", user="ann"):
            pytest.fail("it was let in")
