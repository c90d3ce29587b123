"""Tables without views, which not all functions of pyarrow know."""

from __future__ import annotations

import pyarrow as pa


def without_views(table: pa.Table) -> pa.Table:
    """The table in types that all functions of pyarrow know."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}

    def type_of(type_: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(type_):
            return pa.struct([field.with_type(type_of(field.type)) for field in type_])
        return plain.get(type_, type_)

    return table.cast(pa.schema([field.with_type(type_of(field.type)) for field in table.schema]))
