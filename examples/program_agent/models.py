"""Two models on this machine, which follow rules where a real one would think; both count their tokens in one way."""

import json

from pydantic_core import to_json

from stagepost.agents import ModelRequest, ModelResponse, ToolCall, ToolMessage, Usage, call

from .orders import Order

LOOKING = """
(def open (filter (where :state = "open") data/orders))
(println "orders:" (count data/orders) "states:" (frequencies (pluck :state data/orders)))
(println "first:" (first open))
"""
RETURNING = """
(def debts (->> (group-by :customer open)
                (map (fn [[id rows]] {:id id :owes (sum-by :total rows)}))
                (sort-by :owes >)))
(return {:open_orders (count open)
         :owed (sum-by :total open)
         :debtors (pmap (fn [debt] {:name (tool/customer {:id (:id debt)}) :owes (:owes debt)})
                        (take 3 debts))})
"""
COMPILED = """
; what is owed in a list of orders, and by which customers most of it
(let [open (filter (where :state = "open") data/orders)
      debts (->> (group-by :customer open)
                 (map (fn [[id rows]] {:id id :owes (sum-by :total rows)}))
                 (sort-by :owes >))]
  {:open_orders (count open)
   :owed (sum-by :total open)
   :debtors (map (fn [debt] {:name (str "customer " (:id debt)) :owes (:owes debt)}) (take 3 debts))})
"""


class Programmer:
    """Answers with programs: it looks at the data, and then returns a result; or writes one program to be kept."""

    name = "programmer"

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The next program."""
        is_kept = "Your program is kept" in request.messages[0].text
        source = COMPILED if is_kept else LOOKING if request.answers == 0 else RETURNING
        return _counted(request, ModelResponse(f"```clojure{source}```"))


class Reader:
    """Calls tools: it reads page after page, then asks for names, and then answers."""

    name = "reader"

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The next call, or the answer; everything that it has read is in the request."""
        results = [message.text for message in request.messages if isinstance(message, ToolMessage)]
        pages = [json.loads(text) for text in results if text.startswith("[")]
        if not pages or pages[-1]:
            return _counted(request, _calling(request, call("read_orders", page=len(pages))))
        orders: list[Order] = [order for page in pages for order in page if order["state"] == "open"]
        owed: dict[int, float] = {}
        for order in orders:
            owed[order["customer"]] = owed.get(order["customer"], 0.0) + order["total"]
        first = sorted(owed, key=lambda customer: -owed[customer])[:3]
        names = results[len(pages) :]
        if not names:
            return _counted(request, _calling(request, *(call("customer", id=customer) for customer in first)))
        debtors = [
            {"name": name, "owes": round(owed[customer], 2)} for name, customer in zip(names, first, strict=True)
        ]
        total = round(sum(owed.values()), 2)
        done = call("return", open_orders=len(orders), owed=total, debtors=debtors)
        return _counted(request, _calling(request, done))


def _calling(request: ModelRequest, *calls: ToolCall) -> ModelResponse:
    made = [each.model_copy(update={"id": f"{request.answers}-{index}"}) for index, each in enumerate(calls)]
    return ModelResponse(calls=made)


def _counted(request: ModelRequest, response: ModelResponse) -> ModelResponse:
    """An answer with its tokens, of four characters each."""
    read = sum(len(to_json(message)) for message in request.messages) + len(to_json(list(request.tools)))
    written = len(response.text) + sum(len(each.arguments) for each in response.calls)
    usage = Usage(input_tokens=read // 4, output_tokens=max(1, written // 4))
    return ModelResponse(response.text, calls=response.calls, usage=usage)
