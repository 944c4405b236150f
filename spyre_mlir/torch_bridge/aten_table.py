# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What happens to each operation of an FX graph: the one table.

Imported operations become `spyre` operations; decomposed ones are rewritten by
AOTAutograd before; everything else runs on the host. The partitioner, the list of
fallbacks and `docs/generated/aten.md` are made from these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from .ops import attention, contractions, creation, indexing, movement, norms
from .ops import elementwise as ew
from .ops import reductions as rd

FLOATS = ("f16", "bf16", "f32")
INTEGERS = ("i32", "i64")
NUMBERS = (*FLOATS, *INTEGERS)
BITS = ("i1", *INTEGERS)
EVERY = (*NUMBERS, "i1")

Importer = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """How one operation is treated."""

    how: Literal["import", "decompose", "host"]
    importer: Importer | None = None
    dtypes: tuple[str, ...] = EVERY
    """Types of its first tensor operand (its result, if it takes none)."""
    view: bool = False
    """Moves or names data only: follows its operands to the host."""
    empties: bool = False
    """Its importer takes operands without elements."""
    note: str = ""
    same_types: bool = False
    """The card takes it where its operands, masks aside, have one type."""


def _import(
    names: str,
    importer: Importer,
    dtypes: tuple[str, ...] = EVERY,
    view: bool = False,
    empties: bool = False,
    note: str = "",
) -> dict[str, Row]:
    row = Row("import", importer, dtypes, view, empties, note)
    return dict.fromkeys(names.split(), row)


def _of_one_type(rows: dict[str, Row]) -> dict[str, Row]:
    """Rows of what PyTorch computes on operands of one type alone."""
    return {name: replace(row, same_types=True) for name, row in rows.items()}


def _view(names: str, importer: Importer) -> dict[str, Row]:
    return _import(names, importer, view=True)


def _host(names: str, note: str) -> dict[str, Row]:
    return dict.fromkeys(names.split(), Row("host", dtypes=(), note=note))


def _decompose(names: str, note: str) -> dict[str, Row]:
    return dict.fromkeys(names.split(), Row("decompose", dtypes=(), note=note))


def _overloads(name: str, kinds: str) -> str:
    return " ".join(f"{name}.{kind}" for kind in kinds.split())


def _functions(names: str, dtypes: tuple[str, ...] = EVERY) -> dict[str, Row]:
    """Float functions of one operand by their own name; integers become floats."""
    rows: dict[str, Row] = {}
    for name in names.split():
        rows |= _import(f"{name}.default", ew.unary(name), dtypes)
    return rows


def _comparisons() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        rows |= _import(_overloads(name, "Tensor Scalar"), ew.compare(name))
    return rows


def _variance(name: str, root: bool, with_mean: bool) -> dict[str, Row]:
    importer = rd.variance(root, with_mean)
    return _import(f"{name}.correction", importer, FLOATS, empties=True)


ELEMENTWISE: dict[str, Row] = {
    **_functions("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal"),
    **_functions("sin cos tan erf tanh sigmoid"),
    **_functions("silu", FLOATS),
    **_comparisons(),
    **_import("special_erf.default", ew.unary("erf")),
    **_import("special_expm1.default", ew.unary("expm1")),
    **_import("gelu.default", ew.gelu, FLOATS),
    **_import("softplus.default", ew.softplus, FLOATS),
    **_import("hardtanh.default", ew.hardtanh, NUMBERS),
    **_import("leaky_relu.default", ew.leaky_relu, FLOATS),
    **_import("elu.default", ew.elu, FLOATS),
    **_import("abs.default", ew.unary("abs", floats=False), NUMBERS),
    **_import("neg.default", ew.unary("neg", floats=False), NUMBERS),
    **_import("sign.default sgn.default", ew.unary("sign", floats=False), NUMBERS),
    **_import("relu.default", ew.unary("relu", floats=False), NUMBERS),
    **_import("bitwise_not.default", ew.unary("not", floats=False), BITS),
    **_import("logical_not.default", ew.logical_not),
    **_import("square.default", ew.square, NUMBERS),
    **_import("floor.default", ew.rounding("floor"), NUMBERS),
    **_import("ceil.default", ew.rounding("ceil"), NUMBERS),
    **_import("round.default", ew.rounding("round"), NUMBERS),
    **_import("trunc.default fix.default", ew.rounding("trunc"), NUMBERS),
    **_import("isnan.default", ew.classify("isnan")),
    **_import("isinf.default", ew.classify("isinf")),
    **_import(_overloads("add", "Tensor Scalar"), ew.additive("add")),
    **_import(_overloads("sub", "Tensor Scalar"), ew.additive("sub"), NUMBERS),
    **_import(_overloads("rsub", "Tensor Scalar"), ew.rsub, NUMBERS),
    **_import(_overloads("mul", "Tensor Scalar"), ew.binary("mul", "and", True)),
    **_import(_overloads("div", "Tensor Scalar Tensor_mode Scalar_mode"), ew.divide),
    **_import("floor_divide.default floor_divide.Scalar", ew.floor_divide, NUMBERS),
    **_import(
        _overloads("remainder", "Tensor Scalar"), ew.binary("remainder"), NUMBERS
    ),
    **_import(_overloads("fmod", "Tensor Scalar"), ew.binary("fmod"), NUMBERS),
    **_import(
        _overloads("pow", "Tensor_Scalar Tensor_Tensor Scalar"), ew.power, NUMBERS
    ),
    **_import("atan2.default", ew.float_binary("atan2")),
    **_import("maximum.default", ew.binary("maximum", "or")),
    **_import("minimum.default", ew.binary("minimum", "and")),
    **_import(_overloads("bitwise_and", "Tensor Scalar"), ew.bitwise("and"), BITS),
    **_import(_overloads("bitwise_or", "Tensor Scalar"), ew.bitwise("or"), BITS),
    **_import(_overloads("bitwise_xor", "Tensor Scalar"), ew.bitwise("xor"), BITS),
    **_import("logical_and.default", ew.logical("and")),
    **_import("logical_or.default", ew.logical("or")),
    **_import("logical_xor.default", ew.logical("xor")),
    **_import(_overloads("where", "self ScalarSelf ScalarOther Scalar"), ew.where),
    **_import(_overloads("masked_fill", "Scalar Tensor"), ew.masked_fill),
    **_import(_overloads("clamp", "default Tensor"), ew.clamp, NUMBERS),
    **_import(_overloads("clamp_min", "default Tensor"), ew.clamp_min, NUMBERS),
    **_import(_overloads("clamp_max", "default Tensor"), ew.clamp_max, NUMBERS),
    **_import(
        "_to_copy.default prims.convert_element_type.default to.dtype", ew.convert
    ),
}

REDUCTIONS: dict[str, Row] = {
    **_import("sum.default sum.dim_IntList", rd.sum_, empties=True),
    **_import("mean.default mean.dim", rd.mean, FLOATS, empties=True),
    **_import("amax.default max.default", rd.extremum("max")),
    **_import("amin.default min.default", rd.extremum("min")),
    **_import(_overloads("any", "default dim dims"), rd.truth("max"), empties=True),
    **_import(_overloads("all", "default dim dims"), rd.truth("min"), empties=True),
    **_import("linalg_vector_norm.default", rd.vector_norm, FLOATS, empties=True),
    **_variance("var", root=False, with_mean=False),
    **_variance("std", root=True, with_mean=False),
    **_variance("var_mean", root=False, with_mean=True),
    **_variance("std_mean", root=True, with_mean=True),
    **_import("softmax.int _softmax.default", rd.softmax),
    **_import("log_softmax.int _log_softmax.default", rd.log_softmax),
    **_import("_safe_softmax.default", rd.safe_softmax, FLOATS),
}

MOVEMENT: dict[str, Row] = {
    **_view("view.default _unsafe_view.default reshape.default", movement.view),
    **_view("flatten.using_ints", movement.flatten),
    **_view("unflatten.int", movement.unflatten),
    **_view("unsqueeze.default", movement.unsqueeze),
    **_view(_overloads("squeeze", "default dim dims"), movement.squeeze),
    **_view("permute.default", movement.permute),
    **_view("transpose.int", movement.transpose),
    **_view("t.default", movement.t),
    **_view("slice.Tensor", movement.slice_),
    **_view("narrow.default", movement.narrow),
    **_view("select.int", movement.select),
    **_view("split.Tensor", movement.split),
    **_view("split_with_sizes.default", movement.split_with_sizes),
    **_view("chunk.default", movement.chunk),
    **_view("unbind.int", movement.unbind),
    **_view("expand.default", movement.expand),
    **_view("as_strided.default", movement.as_strided),
    **_view("unfold.default", movement.unfold),
    **_view("diagonal.default", movement.diagonal),
    **_view("alias.default detach.default lift.default", movement.alias),
    **_view("clone.default contiguous.default lift_fresh_copy.default", movement.alias),
    **_import("repeat.default", movement.repeat),
    **_import("repeat_interleave.self_int", movement.repeat_interleave),
    **_import("cat.default", movement.cat, empties=True),
    **_import("stack.default", movement.stack),
    **_import("flip.default", movement.flip),
    **_import("roll.default", movement.roll),
    **_import("constant_pad_nd.default", movement.constant_pad, empties=True),
    **_import("pad.default", movement.pad, empties=True),
    **_import("slice_scatter.default", movement.slice_scatter, empties=True),
    **_import("select_scatter.default", movement.select_scatter),
    **_import("tril.default", movement.tril),
    **_import("triu.default", movement.triu),
    **_import("copy.default", movement.copy),
}

STRUCTURED: dict[str, Row] = {
    **_of_one_type(
        {
            **_import(
                "mm.default bmm.default", contractions.matmul, FLOATS, empties=True
            ),
            **_import(
                "matmul.default mv.default", contractions.matmul, FLOATS, empties=True
            ),
            **_import(
                "dot.default vdot.default", contractions.dot, FLOATS, empties=True
            ),
            **_import("linear.default", contractions.linear, FLOATS, empties=True),
            **_import(
                "addmm.default baddbmm.default addmv.default",
                contractions.scaled_add,
                FLOATS,
                empties=True,
            ),
            **_import(
                "scaled_dot_product_attention.default",
                attention.attention,
                FLOATS,
                empties=True,
            ),
        }
    ),
    **_import(
        "_scaled_dot_product_flash_attention_for_cpu.default",
        attention.flash_attention,
        FLOATS,
    ),
    **_import(
        "_scaled_dot_product_flash_attention_for_cpu_backward.default",
        attention.flash_attention_backward,
        FLOATS,
    ),
    **_import("layer_norm.default", norms.layer_norm, FLOATS),
    **_import("native_layer_norm.default", norms.native_layer_norm, FLOATS),
    **_import("rms_norm.default", norms.rms_norm, FLOATS),
    **_import("_fused_rms_norm.default", norms.fused_rms_norm, FLOATS),
    **_import("group_norm.default", norms.group_norm, FLOATS),
    **_import("native_group_norm.default", norms.native_group_norm, FLOATS),
    **_import(
        "_native_batch_norm_legit_no_training.default",
        norms.batch_norm_inference,
        FLOATS,
    ),
    **_import("embedding.default", indexing.embedding),
    **_import("index_select.default", indexing.index_select),
    **_import("gather.default", indexing.gather),
    **_import("index.Tensor _unsafe_index.Tensor", indexing.index),
}

CREATION: dict[str, Row] = {
    **_import("full.default", creation.full),
    **_import("full_like.default", creation.full),
    **_import("new_full.default", creation.new_full),
    **_import("scalar_tensor.default", creation.scalar_tensor),
    **_import("fill.Scalar", creation.full),
    **_import("zeros.default zeros_like.default", creation.constant(0)),
    **_import("new_zeros.default zero.default", creation.constant(0)),
    **_import("ones.default ones_like.default", creation.constant(1)),
    **_import("new_ones.default", creation.constant(1)),
    **_import(
        "empty.memory_format empty_like.default new_empty.default "
        "empty_strided.default empty_permuted.default new_empty_strided.default",
        creation.constant(0),
        note="zeros",
    ),
    **_import("arange.start_step", creation.arange, NUMBERS),
    **_import("arange.start", creation.arange_start, NUMBERS),
    **_import("arange.default", creation.arange_end, NUMBERS),
    **_import("prims.iota.default", creation.prims_iota, INTEGERS),
    **_import("eye.default eye.m", creation.eye),
}

BATCH_NORMS = (
    "native_batch_norm.default",
    "_native_batch_norm_legit.default",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_functional.default",
    "_batch_norm_with_update_functional.default",
)
"""Forward rules of batch norms: the input, its parameters, and settings."""

DECOMPOSED: dict[str, Row] = {
    **_decompose(
        "_transformer_encoder_layer_fwd.default _native_multi_head_attention.default",
        "the fused fast path of PyTorch's modules",
    ),
    **_decompose(
        " ".join((*BATCH_NORMS, "batch_norm_backward.default")),
        "statistics of the batch",
    ),
    **_decompose(
        "fmax.default fmin.default hypot.default special_ndtr.default "
        "narrow_copy.default diagonal_scatter.default remainder.Scalar_Tensor "
        "bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor "
        "bitwise_xor.Scalar_Tensor var.default var.dim std.default std.dim "
        "var_mean.default var_mean.dim std_mean.default std_mean.dim",
        "other spellings",
    ),
}
"""Rewritten by AOTAutograd; PyTorch's core ATen decompositions come on top."""

ASSERTION = "checked, but no work"

HOST: dict[str, Row] = {
    **_host(
        "convolution.default conv1d.default conv2d.default conv3d.default "
        "convolution_backward.default _convolution.default",
        "the card has no convolution",
    ),
    **_host(
        "max_pool2d_with_indices.default avg_pool2d.default "
        "_adaptive_avg_pool2d.default upsample_nearest2d.vec",
        "the card has no pooling and no resampling",
    ),
    **_host(
        "cumsum.default cumprod.default sort.default sort.stable topk.default "
        "argmax.default argmin.default max.dim min.dim prod.default prod.dim_int "
        "histc.default",
        "the card has no scans, sorts and products along a dimension",
    ),
    **_host(
        "index_put.default _unsafe_index_put.default index_copy.default "
        "index_add.default scatter.value scatter.src scatter_add.default "
        "scatter_reduce.two masked_scatter.default",
        "the card cannot write at indices that a tensor holds",
    ),
    **_host(
        "nonzero.default masked_select.default unique_dim.default _unique2.default "
        "unique_consecutive.default repeat_interleave.Tensor",
        "the size of its result depends on data",
    ),
    **_host("_local_scalar_dense.default item.default", "Python reads its value"),
    **_host(
        "spyre_mlir.recurrent.default spyre_mlir.recurrent_backward.default",
        "recurrent layers",
    ),
    **_host("_print.default", "it prints"),
    **_host(
        "_assert_scalar.default _assert_async.default _assert_async.msg "
        "_assert_tensor_metadata.default _functional_assert_async.msg "
        "_functional_assert_scalar.default _linalg_check_errors.default "
        "sym_constrain_range.default sym_constrain_range_for_size.default",
        ASSERTION,
    ),
    **_host(
        "rand.default randn.default randint.low rand_like.default "
        "randn_like.default native_dropout.default bernoulli.p multinomial.default",
        "the card draws no random numbers",
    ),
}

TABLE: Mapping[str, Row] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **MOVEMENT,
    **STRUCTURED,
    **CREATION,
    **DECOMPOSED,
    **HOST,
}
"""Every operation that is more than "on the host, since no row names it"."""

COMPOSITES = (
    "linear.default",
    "matmul.default",
    "scaled_dot_product_attention.default",
    "layer_norm.default",
    "rms_norm.default",
    "group_norm.default",
    "softmax.int",
    "log_softmax.int",
    "pad.default",
)
"""Composite operations that are kept whole where nobody differentiates them."""


def operation(name: str) -> Any:
    """`torch.ops.aten.add.Tensor` of `add.Tensor`."""
    packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def key(op: object) -> str:
    """`add.Tensor` of `torch.ops.aten.add.Tensor`; other namespaces stay."""
    return str(op).removeprefix("aten.")


def row_of(op: object) -> Row | None:
    return TABLE.get(key(op))


def is_assertion(op: object) -> bool:
    """Checks what a program relies on, and raises as eager PyTorch does."""
    row = row_of(op)
    return row is not None and row.note == ASSERTION
