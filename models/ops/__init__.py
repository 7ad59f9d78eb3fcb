"""Operations that the model and its methods share."""
