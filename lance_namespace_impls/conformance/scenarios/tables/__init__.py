"""Operations on the catalog entry of a table."""
