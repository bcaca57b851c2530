"""A tool: queries, gets, a spawned job with its output and its input, control.

    tool.py NSPACE     a job of the context that waits
"""
import sys
import threading

from pmix import (PMIX_ERR_UNREACH, PMIX_FWD_STDOUT,
                  PMIX_FWD_STDOUT_CHANNEL, PMIX_IOF_COMPLETE,
                  PMIX_JOB_CTRL_SIGNAL, PMIX_JOB_SIZE, PMIX_NSPACE,
                  PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE,
                  PMIX_RANK_WILDCARD, PMIX_STDIN_TGT, PMIX_TOOL_DO_NOT_CONNECT,
                  PMIX_UINT32, PMIxTool)

from checks import done, info, kept, result, value


def ask(tool, key, *qualifiers):
    found = result(tool.query([{"keys": [key], "qualifiers":
                                list(qualifiers)}]))
    kept(len(found) == 1 and found[0]["key"] == key, found)
    return found[0]["value"]


def queries(tool, nspace):
    kept(nspace in ask(tool, PMIX_QUERY_NAMESPACES).split(","), nspace)
    table = ask(tool, PMIX_QUERY_PROC_TABLE, info(PMIX_NSPACE, nspace))
    procs = [row["proc"] for row in table["array"]]
    kept({"nspace": nspace, "rank": 1} in procs and len(procs) == 2, table)
    kept(all(row["executable"] and row["pid"] > 0 for row in table["array"]),
         table)
    job = {"nspace": nspace, "rank": PMIX_RANK_WILDCARD}
    kept(result(tool.get(job, PMIX_JOB_SIZE, None)) == value(2, PMIX_UINT32),
         "job size")


class Output:
    """Collects the output of a job until it ends."""

    def __init__(self):
        self.text, self.has = b"", threading.Condition()

    def __call__(self, number, channel, source, payload, infos):
        with self.has:
            self.text += payload["bytes"]
            self.has.notify_all()

    def wait_for(self, text):
        with self.has:
            kept(self.has.wait_for(lambda: text in self.text, 30), self.text)


def output(tool):
    """The input of a job that the tool spawns comes back as its output."""
    nspace = result(tool.spawn(
        [info(PMIX_STDIN_TGT, 0, PMIX_UINT32), info(PMIX_FWD_STDOUT, True)],
        [{"cmd": "/bin/cat", "argv": ["cat"], "maxprocs": 1}]))
    job, read = {"nspace": nspace, "rank": PMIX_RANK_WILDCARD}, Output()
    number = result(tool.iof_pull([job], PMIX_FWD_STDOUT_CHANNEL, None, read))
    reader = dict(job, rank=0)
    done(tool.iof_push([reader], {"bytes": b"zero\0byte\n"}, None))
    read.wait_for(b"zero\0byte\n")
    done(tool.iof_push([reader], None, [info(PMIX_IOF_COMPLETE, True)]))
    tool.iof_deregister(number, None)


def servers(tool):
    (server,) = result(tool.get_servers())
    done(tool.set_server(server, None))
    kept(tool.is_connected(), "not connected")
    done(tool.disconnect(server))
    kept(not tool.is_connected(), "still connected")
    status, me, again = tool.attach_to_server(None)
    kept(status == 0 and again == server and me["nspace"], status, me, again)


def alone():
    """A tool without a server is not connected, and its requests fail."""
    tool = PMIxTool()
    result(tool.init([info(PMIX_TOOL_DO_NOT_CONNECT, True)]))
    kept(not tool.is_connected(), "connected")
    status, found = tool.get_servers()
    kept(not found, status, found)
    kept(tool.publish([info("key", 1)]) == PMIX_ERR_UNREACH, "published")
    done(tool.finalize())


def main():
    nspace = sys.argv[1]
    tool = PMIxTool()
    result(tool.init(None))
    queries(tool, nspace)
    output(tool)
    servers(tool)
    result(tool.job_control([{"nspace": nspace, "rank": PMIX_RANK_WILDCARD}],
                            [info(PMIX_JOB_CTRL_SIGNAL, 15)]))
    done(tool.finalize())
    alone()
    print("tool ok", flush=True)


if __name__ == "__main__":
    main()
