"""Generates the public C headers from the data tables."""

def sdk_headers(name, headers, visibility = None):
    """A filegroup of headers, each made from templates/<header>.in.

    Args:
      name: name of the filegroup.
      headers: names of the headers.
      visibility: of the filegroup.
    """
    for header in headers:
        template = "templates/%s.in" % header
        native.genrule(
            name = header.replace(".", "_"),
            srcs = [
                template,
                ":tables_tsv",
            ] + native.glob(["templates/inline_*.in"]),
            outs = [header],
            cmd = ("python3 -B $(location gen/generate.py) header %s " % header +
                   "$$(dirname $(location tables/constants.tsv)) " +
                   "$(location %s) $@" % template),
            tools = [
                "gen/generate.py",
                ":generator",
                "tables/constants.tsv",
            ],
        )
    native.filegroup(
        name = name,
        srcs = headers,
        visibility = visibility,
    )
