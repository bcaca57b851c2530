"""Process groups."""
from .errors import returns
from .library import lib
from .operation import Arguments, Operation, Results, on_done, on_infos


class Groups:
    @returns(list)
    def group_construct(self, group, peers, dicts):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Group_construct(
            args.needed(group), *self._members(args, peers), *args.infos(dicts),
            *results.places()))

    @returns()
    def group_construct_nb(self, group, peers, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Group_construct_nb, op.needed(group),
                        *self._members(op, peers), *op.infos(dicts), on_infos)

    @returns(list)
    def group_invite(self, group, peers, dicts):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Group_invite(
            args.needed(group), *self._members(args, peers), *args.infos(dicts),
            *results.places()))

    @returns()
    def group_invite_nb(self, group, peers, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Group_invite_nb, op.needed(group),
                        *self._members(op, peers), *op.infos(dicts), on_infos)

    @returns(list)
    def group_join(self, group, leader, opt, dicts):
        args, results = Arguments(), Results()
        return results.take(lib.PMIx_Group_join(
            args.needed(group), self._proc(args, leader), opt,
            *args.infos(dicts), *results.places()))

    @returns()
    def group_join_nb(self, group, leader, opt, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Group_join_nb, op.needed(group),
                        self._proc(op, leader), opt, *op.infos(dicts),
                        on_infos)

    @returns()
    def group_leave(self, group, dicts):
        args = Arguments()
        return lib.PMIx_Group_leave(args.needed(group), *args.infos(dicts))

    @returns()
    def group_leave_nb(self, group, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Group_leave_nb, op.needed(group),
                        *op.infos(dicts), on_done)

    @returns()
    def group_destruct(self, group, dicts):
        args = Arguments()
        return lib.PMIx_Group_destruct(args.needed(group), *args.infos(dicts))

    @returns()
    def group_destruct_nb(self, group, dicts, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        return op.start(lib.PMIx_Group_destruct_nb, op.needed(group),
                        *op.infos(dicts), on_done)
