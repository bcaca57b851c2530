"""A host that serves a tool, which is another process of this program.

    tool_host.py DIRECTORY     for the server's files
"""
import os
import subprocess
import sys
import threading

from pmix import (PMIX_FWD_STDOUT_CHANNEL, PMIX_RANK_WILDCARD,
                  PMIX_SERVER_TMPDIR, PMIX_SERVER_TOOL_SUPPORT, PMIX_STRING,
                  PMIX_SUCCESS, PMIX_USERID, PMIxServer, PMIxTool)

from checks import done, info, kept, result

TOOL = {"nspace": "named-by-the-host", "rank": 5}
JOB = {"nspace": "job", "rank": PMIX_RANK_WILDCARD}

server = PMIxServer()
calls = []


def connected(args, answer, data):
    users = [row["value"] for row in args["directives"]
             if row["key"] == PMIX_USERID]
    kept(users == [os.getuid()], args)
    answer(PMIX_SUCCESS, TOOL, data)
    return PMIX_SUCCESS


def query(args, answer, data):
    kept(args["source"] == TOOL, args)
    answer(PMIX_SUCCESS, [info("asked", 1)], data)
    return PMIX_SUCCESS


def pull(args, answer, data):
    """Answers the request, and then delivers output."""
    kept(args["sources"] == [JOB] and
         args["channels"] == PMIX_FWD_STDOUT_CHANNEL, args)
    answer(PMIX_SUCCESS, data)
    done(server.iof_deliver(dict(JOB, rank=1), PMIX_FWD_STDOUT_CHANNEL,
                            {"bytes": b"output\0\n"}, None, lambda *_: None))
    return PMIX_SUCCESS


def push(args, answer, data):
    kept(args["payload"]["bytes"] == b"input\0" and args["targets"] == [JOB],
         args)
    answer(PMIX_SUCCESS, data)
    return PMIX_SUCCESS


FUNCTIONS = {"toolconnected": connected, "query": query, "iofpull": pull,
             "pushstdin": push}


def counted(name):
    def call(*args):
        calls.append(name)
        return FUNCTIONS[name](*args)
    return call


def host(directory):
    done(server.init([info(PMIX_SERVER_TOOL_SUPPORT, True),
                      info(PMIX_SERVER_TMPDIR, directory, PMIX_STRING)],
                     {name: counted(name) for name in FUNCTIONS}))
    code = subprocess.call([sys.executable, __file__, directory, "tool"])
    done(server.finalize())
    kept(code == 0 and calls[:4] == ["toolconnected", "query", "iofpull",
                                     "pushstdin"], code, calls)
    print("tool_host ok", flush=True)


def tool(directory):
    me = PMIxTool()
    name = result(me.init([info(PMIX_SERVER_TMPDIR, directory, PMIX_STRING)]))
    kept(name == TOOL, name)
    kept(result(me.query([{"keys": ["asked"]}]))[0]["value"] == 1, "query")
    came, texts = threading.Event(), []

    def output(number, channel, source, payload, infos):
        texts.append((channel, source, payload["bytes"]))
        came.set()
    number = result(me.iof_pull([JOB], PMIX_FWD_STDOUT_CHANNEL, None, output))
    kept(came.wait(30) and texts == [(
        PMIX_FWD_STDOUT_CHANNEL, dict(JOB, rank=1), b"output\0\n")], texts)
    pushed = threading.Event()
    done(me.iof_push([JOB], {"bytes": b"input\0"}, None, lambda status, _: (
        done(status), pushed.set())))
    kept(pushed.wait(30), "not pushed")
    me.iof_deregister(number, None)
    done(me.finalize())


if __name__ == "__main__":
    (tool if sys.argv[2:] == ["tool"] else host)(sys.argv[1])
