"""What a mutant is: one small fault in the syntax tree of a module."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

_T = TypeVar("_T")

_COMPARED: dict[type[ast.cmpop], Sequence[type[ast.cmpop]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NAMED = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"} | {
    "exists": "does_not_exist",
    "does_not_exist": "exists",
}
_MEANT = ("annotation", "returns", "decorator_list")  # what says how a thing is meant, not what it does


@dataclass(frozen=True)
class Mutant:
    """A module with one fault, the fault in words, and the function it is in; "" is what happens on import."""

    line: int
    function: str
    fault: str
    tree: ast.Module


def mutants(source: str, only: Sequence[str] = ()) -> Iterator[Mutant]:
    """Yield every mutant of a module; with `only`, those inside functions or classes of these names."""
    for place, (node, function) in enumerate(_nodes(ast.parse(source), only)):
        for which, changed in enumerate(_replacements(node, not function)):
            tree = ast.parse(source)  # afresh: a mutant changes its tree
            old = list(_nodes(tree, only))[place][0]
            new = list(_replacements(old, not function))[which]
            broken: ast.Module = ast.fix_missing_locations(_Swap(old, new).visit(tree))
            yield Mutant(getattr(node, "lineno", 0), function, _difference(node, changed), broken)


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        if node is self._old:
            return ast.copy_location(self._new, node)
        return self.generic_visit(node)


def _nodes(tree: ast.Module, only: Sequence[str]) -> Iterator[tuple[ast.AST, str]]:
    """Yield what may be mutated, in one order for one source, with the name of the function it is in."""
    return _below(tree, only, not only, "", "")


def _below(
    node: ast.AST, only: Sequence[str], wanted: bool, within: str, function: str
) -> Iterator[tuple[ast.AST, str]]:
    wanted = wanted or _name(node) in only
    if wanted:
        yield node, function
    if isinstance(node, ast.ClassDef):
        within = f"{node.name}."
    for field, child in _children(node):
        inside = isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and field == "body")
        yield from _below(child, only, wanted, within, function or (within + _called_by(node) if inside else ""))


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field not in _MEANT:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield field, child


def _called_by(node: ast.AST) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def _name(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _replacements(node: ast.AST, outside: bool) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from (ast.BoolOp(op, rest) if len(rest) > 1 else rest[0] for rest in _shorter(values))
        case ast.BinOp():
            yield from _computed(node, outside)
        case ast.Constant():
            yield from _constants(node)
        case ast.Call():
            yield from _called(node)
        case ast.stmt():
            yield from _statements(node)
        case ast.expr():
            yield from _values(node, outside)
        case _:
            yield from _parts(node)


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for place, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            yield ast.Compare(node.left, [*node.ops[:place], other(), *node.ops[place + 1 :]], node.comparators)


def _computed(node: ast.BinOp, outside: bool) -> Iterator[ast.AST]:
    joined = isinstance(node.op, ast.BitAnd | ast.BitOr)
    if joined and outside:
        return  # a union of types
    if type(node.op) in _COMPUTED:
        yield ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right)
    if joined:
        yield from (node.left, node.right)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))


def _called(node: ast.Call) -> Iterator[ast.AST]:
    yield from (ast.Call(node.func, node.args, rest) for rest in _shorter(node.keywords))
    match node.func:
        case ast.Name(id=name) if name in _NAMED:
            yield ast.Call(ast.Name(_NAMED[name], ast.Load()), node.args, node.keywords)
        case ast.Attribute(value=value, attr=name) if name in _NAMED:
            yield ast.Call(ast.Attribute(value, _NAMED[name], ast.Load()), node.args, node.keywords)


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield ast.Pass()


def _values(node: ast.expr, outside: bool) -> Iterator[ast.AST]:
    match node:
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(test=test, body=value, orelse=other) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), value, other)
        case ast.Dict(keys=keys, values=entries):
            pairs = list(zip(keys, entries, strict=True))
            yield from (ast.Dict([key for key, _ in rest], [entry for _, entry in rest]) for rest in _shorter(pairs))
        case ast.List(elts=elts, ctx=ast.Load()):
            yield from (ast.List(rest, ast.Load()) for rest in _shorter(elts))
        case ast.Set(elts=elts) if len(elts) > 1:
            yield from (ast.Set(rest) for rest in _shorter(elts))
        case ast.Tuple(elts=elts, ctx=ast.Load()) if outside:
            yield from (ast.Tuple(rest, ast.Load()) for rest in _shorter(elts))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.comprehension(target=target, iter=over, ifs=ifs):
            yield from (ast.comprehension(target, over, rest, 0) for rest in _shorter(ifs))
        case ast.ExceptHandler(type=ast.Tuple(elts=elts), name=name, body=body):
            yield from (ast.ExceptHandler(ast.Tuple(rest, ast.Load()), name, body) for rest in _shorter(elts))
        case ast.MatchOr(patterns=patterns):
            yield from (ast.MatchOr(rest) if len(rest) > 1 else rest[0] for rest in _shorter(patterns))


def _shorter(parts: Sequence[_T]) -> Iterator[list[_T]]:
    return ([*parts[:place], *parts[place + 1 :]] for place in range(len(parts)))


def _difference(old: ast.AST, new: ast.AST) -> str:
    """Return what differs between two pieces of code, [-taken out-] and {+put in+}, with a little of what is around."""
    before, after = (" ".join(ast.unparse(node).split()) for node in (old, new))
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    out, into = (text[head : len(text) - tail] for text in (before, after))
    taken = out if len(out) <= 100 else out[:99] + "…"
    return f"{before[max(0, head - 50) : head]}[-{taken}-]{{+{into}+}}{before[len(before) - tail :][:30]}"


def _alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
