"""Files change in every way while clients read them: is every response one version, whole and fresh?

`content` makes and recognises versions, `history` is what the writers tell the readers, `writer` changes the files,
`reader` asks for them and judges each response.
"""
