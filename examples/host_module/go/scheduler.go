// A small scheduler for Canopy in Go. Jobs wait in one queue, first come first
// served, for the slots of the nodes that the agents report. It serves any
// number of overlays. docs/write_a_scheduler.md explains the contract; this
// program shows that it needs nothing but its .proto files:
//
//	./build $PREFIX/share/canopy/protos DIRECTORY
//	DIRECTORY/scheduler unix:/tmp/scheduler.sock &
//	canopy up --emulate 4 --host-module unix:/tmp/scheduler.sock
//	canopy run -n 4 hello
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/any"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "canopy.dev/hostmodule/v1"
)

// A job from its request to its release.
type job struct {
	request  *pb.PlaceJobRequest
	name     string            // host_job_id
	slots    map[string]uint32 // granted, by node; nil: it waits
	refusal  error             // why it can never run
	wanted   bool              // requested since the last snapshot
	replaced chan struct{}     // closed when a newer call asks for the job
}

// The state of one overlay. Names are unique only in it.
type overlay struct {
	nodes    map[string]*pb.NodeReport
	free     map[string]int64
	jobs     map[string]*job // by request_id
	queue    []*job
	taken    map[uint64]uint64 // the last report of each series
	replaced chan struct{}     // closed when another stream replaces the open one
	there    map[string]bool   // jobs of the snapshot that is being read
}

// The state of all overlays is guarded by one mutex. `changed` is closed, and
// replaced, whenever a job may have been granted or refused.
type scheduler struct {
	pb.UnimplementedHostModuleServiceServer
	mu       sync.Mutex
	changed  chan struct{}
	overlays map[string]*overlay
	lastName int64
}

func newScheduler() *scheduler {
	return &scheduler{
		changed:  make(chan struct{}),
		overlays: map[string]*overlay{},
		// Names start at the time in milliseconds. They stay unique after a
		// restart as long as fewer than 1000 jobs start per second.
		lastName: time.Now().UnixNano() / 1e6,
	}
}

// The caller holds the mutex. This is true for all functions from here to
// "service".
func (s *scheduler) overlay(id []byte) *overlay {
	o := s.overlays[string(id)]
	if o == nil {
		o = &overlay{
			nodes: map[string]*pb.NodeReport{},
			free:  map[string]int64{},
			jobs:  map[string]*job{},
			taken: map[uint64]uint64{},
			there: map[string]bool{},
		}
		s.overlays[string(id)] = o
	}
	return o
}

func (s *scheduler) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ------------------------------------------------------------------- placing

func (o *overlay) setNode(node *pb.NodeReport) {
	used := -o.free[node.Name]
	if known := o.nodes[node.Name]; known != nil {
		used += int64(slotsOf(known))
	}
	o.nodes[node.Name] = node
	o.free[node.Name] = int64(slotsOf(node)) - used
}

func slotsOf(node *pb.NodeReport) uint32 {
	if node.State != pb.NodeState_NODE_STATE_UP {
		return 0
	}
	return node.Slots
}

func (o *overlay) use(slots map[string]uint32, sign int64) {
	for name, n := range slots {
		o.free[name] -= sign * int64(n)
	}
}

// Returns whether the node is one of the hosts, and how many processes the user
// allows on it.
func named(hosts []*pb.HostSlots, node *pb.NodeReport) (bool, uint32) {
	found, counted, slots := false, true, uint32(0)
	for _, host := range hosts {
		is := host.Name == node.Name
		for _, alias := range node.Aliases {
			is = is || alias == host.Name
		}
		if strings.HasPrefix(host.Name, "+") {
			return true, ^uint32(0)
		}
		if is {
			found = true
			counted = counted && host.Slots != nil
			slots += host.GetSlots()
		}
	}
	if !counted {
		slots = ^uint32(0)
	}
	return found, slots
}

// Returns how many processes of the application fit on each node.
func (o *overlay) rooms(r *pb.PlaceJobRequest, app *pb.Application,
	free map[string]int64) (rooms map[string]uint32, total uint32) {
	hosts := app.Hosts
	if len(hosts) == 0 {
		hosts = r.Hosts
	}
	rooms = map[string]uint32{}
	for name, node := range o.nodes {
		if free[name] <= 0 || contains(r.RefusedNodes, name) {
			continue
		}
		room := uint32(free[name]) / max(app.SlotsPerProcess, 1)
		if app.MaxProcsPerNode != nil {
			room = min(room, *app.MaxProcsPerNode)
		}
		if len(hosts) > 0 {
			is, slots := named(hosts, node)
			if !is {
				continue
			}
			room = min(room, slots)
		}
		rooms[name] = room
		total += room
	}
	return rooms, total
}

// Returns the slots for the job by node, or nil if it does not fit into the
// free slots.
func (o *overlay) pick(r *pb.PlaceJobRequest, free map[string]int64) map[string]uint32 {
	left, picked := map[string]int64{}, map[string]uint32{}
	for name, n := range free {
		left[name] = n
	}
	for _, app := range r.Applications {
		rooms, total := o.rooms(r, app, left)
		wanted := max(total, 1)
		if app.NumProcs != nil {
			wanted = max(*app.NumProcs, 1)
		}
		if r.Oversubscribe {
			wanted = min(wanted, max(total, 1))
		}
		names := make([]string, 0, len(rooms))
		for name := range rooms {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			procs := min(rooms[name], wanted)
			if procs == 0 {
				continue
			}
			wanted -= procs
			slots := procs * max(app.SlotsPerProcess, 1)
			left[name] -= int64(slots)
			picked[name] += slots
		}
		if wanted > 0 {
			return nil
		}
	}
	return picked
}

// Starts jobs in the order of their requests until the first one has to wait.
// A job that would not fit into all slots is refused.
func (s *scheduler) schedule(o *overlay) {
	sort.SliceStable(o.queue, func(a, b int) bool {
		return before(o.queue[a].request, o.queue[b].request)
	})
	for len(o.queue) > 0 {
		first := o.queue[0]
		slots := o.pick(first.request, o.free)
		if slots == nil && (len(o.nodes) == 0 || o.pick(first.request, o.all()) != nil) {
			break
		}
		o.queue = o.queue[1:]
		if slots == nil {
			delete(o.jobs, first.request.Placement.RequestId)
			first.refusal = refusal(codes.FailedPrecondition,
				"PMIX_ERR_JOB_INSUFFICIENT_RESOURCES", "there are not so many slots")
			continue
		}
		s.lastName++
		first.name = fmt.Sprint(s.lastName)
		first.slots = slots
		o.use(slots, 1)
	}
	s.notify()
}

func (o *overlay) all() map[string]int64 {
	all := map[string]int64{}
	for name, node := range o.nodes {
		all[name] = int64(node.Slots)
	}
	return all
}

func before(a, b *pb.PlaceJobRequest) bool {
	at, bt := a.RequestTime.AsTime(), b.RequestTime.AsTime()
	if !at.Equal(bt) {
		return at.Before(bt)
	}
	return a.Placement.RequestId < b.Placement.RequestId
}

// Removes a job that has ended or is no longer wanted, and frees its slots.
func (o *overlay) forget(j *job) {
	delete(o.jobs, j.request.Placement.RequestId)
	for i, other := range o.queue {
		if other == j {
			o.queue = append(o.queue[:i:i], o.queue[i+1:]...)
			break
		}
	}
	o.use(j.slots, -1)
}

// ------------------------------------------------------------------- service

func (s *scheduler) GetCapabilities(context.Context, *pb.GetCapabilitiesRequest) (
	*pb.GetCapabilitiesResponse, error) {
	return &pb.GetCapabilitiesResponse{Name: "go example", Version: "1",
		Features: []pb.Feature{pb.Feature_FEATURE_PLACE_JOB,
			pb.Feature_FEATURE_ATTACH}}, nil
}

// Returns the job of a request, or nil if a later attempt of it is known. Ends
// earlier calls for the job.
func (s *scheduler) jobOf(o *overlay, r *pb.PlaceJobRequest) *job {
	j := o.jobs[r.Placement.RequestId]
	if j != nil && j.request.Placement.Attempt > r.Placement.Attempt {
		return nil
	}
	if j != nil && j.request.Placement.Attempt < r.Placement.Attempt {
		o.forget(j)
		close(j.replaced)
		j = nil
	}
	if j == nil {
		j = &job{request: r}
		o.jobs[r.Placement.RequestId] = j
		o.queue = append(o.queue, j)
	} else {
		close(j.replaced)
	}
	j.wanted = true
	j.replaced = make(chan struct{})
	return j
}

func (s *scheduler) PlaceJob(r *pb.PlaceJobRequest,
	out pb.HostModuleService_PlaceJobServer) error {
	for _, info := range r.Directives {
		if info.Required {
			return refusal(codes.Unimplemented, "PMIX_ERR_NOT_SUPPORTED",
				info.Key+" is not supported")
		}
	}
	s.mu.Lock()
	o := s.overlay(r.Overlay.OverlayId)
	j := s.jobOf(o, r)
	if j == nil {
		s.mu.Unlock()
		return status.Error(codes.Aborted, "there is a later attempt")
	}
	replaced, said := j.replaced, ""
	s.schedule(o)
	for j.slots == nil && j.refusal == nil {
		reason := fmt.Sprintf("%d slots wanted, %d free", r.GetNumSlots(), o.freeSlots())
		changed := s.changed
		s.mu.Unlock()
		if reason != said {
			said = reason
			err := out.Send(&pb.PlaceJobResponse{Kind: &pb.PlaceJobResponse_Queued{
				Queued: &pb.Queued{Reason: reason}}})
			if err != nil {
				return s.leave(o, j, replaced)
			}
		}
		select {
		case <-out.Context().Done():
			return s.leave(o, j, replaced)
		case <-replaced:
			return status.Error(codes.Aborted, "a newer call replaces this one")
		case <-changed:
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if j.refusal != nil {
		return j.refusal
	}
	return out.Send(&pb.PlaceJobResponse{
		Kind: &pb.PlaceJobResponse_Granted{Granted: grant(j)}})
}

// Called when a call has ended. Removes the job if it still waits: the agent
// requests it again if it is still wanted.
func (s *scheduler) leave(o *overlay, j *job, replaced chan struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.replaced == replaced && j.slots == nil &&
		o.jobs[j.request.Placement.RequestId] == j {
		o.forget(j)
		s.schedule(o)
	}
	return status.Error(codes.Canceled, "the call has ended")
}

func (o *overlay) freeSlots() (free int64) {
	for _, n := range o.free {
		if n > 0 {
			free += n
		}
	}
	return free
}

func grant(j *job) *pb.Granted {
	granted := &pb.Granted{HostJobId: j.name}
	for name, slots := range j.slots {
		granted.Nodes = append(granted.Nodes, &pb.GrantedNode{Name: name, Slots: slots})
	}
	sort.Slice(granted.Nodes, func(a, b int) bool {
		return granted.Nodes[a].Name < granted.Nodes[b].Name
	})
	return granted
}

func (s *scheduler) JobLaunched(context.Context, *pb.JobLaunchedRequest) (
	*pb.JobLaunchedResponse, error) {
	return &pb.JobLaunchedResponse{}, nil
}

func (s *scheduler) JobReleased(_ context.Context, r *pb.JobReleasedRequest) (
	*pb.JobReleasedResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.overlay(r.Overlay.OverlayId)
	// The release of an earlier attempt is ignored: the later attempt has the
	// slots.
	if j := o.jobs[r.Placement.RequestId]; j != nil &&
		j.request.Placement.Attempt <= r.Placement.Attempt {
		o.forget(j)
		s.schedule(o)
	}
	return &pb.JobReleasedResponse{}, nil
}

func (s *scheduler) Attach(stream pb.HostModuleService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "no hello")
	}
	replaced := make(chan struct{})
	s.mu.Lock()
	o := s.overlay(hello.Overlay.OverlayId)
	if o.replaced != nil {
		close(o.replaced) // this stream replaces an older one
	}
	o.replaced = replaced
	o.there = map[string]bool{}
	taken := o.taken[hello.Incarnation]
	s.mu.Unlock()
	err = stream.Send(&pb.AttachResponse{Kind: &pb.AttachResponse_Hello{
		Hello: &pb.HostHello{Incarnation: hello.Incarnation, Acknowledged: taken,
			Filter: &pb.ReportFilter{}}}})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.read(o, hello.Incarnation, stream)
	}()
	select {
	case <-replaced:
	case <-ended:
	}
	return nil
}

func (s *scheduler) read(o *overlay, incarnation uint64,
	stream pb.HostModuleService_AttachServer) {
	for {
		message, err := stream.Recv()
		if err != nil {
			return
		}
		switch kind := message.Kind.(type) {
		case *pb.AttachRequest_Snapshot:
			s.takeSnapshot(o, kind.Snapshot)
		case *pb.AttachRequest_Report:
			s.takeReport(o, incarnation, kind.Report)
			err = stream.Send(&pb.AttachResponse{Kind: &pb.AttachResponse_Acknowledge{
				Acknowledge: &pb.Acknowledge{Sequence: kind.Report.Sequence}}})
			if err != nil {
				return
			}
		}
	}
}

func (s *scheduler) takeSnapshot(o *overlay, page *pb.SnapshotPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, report := range page.Jobs {
		o.there[report.Placement.RequestId] = true
	}
	for _, node := range page.Nodes {
		o.setNode(node)
	}
	// Unknown jobs were started by an earlier run of this program.
	for _, report := range page.Jobs {
		name := report.Placement.RequestId
		if report.State == pb.JobState_JOB_STATE_QUEUED || o.jobs[name] != nil {
			continue
		}
		j := &job{request: &pb.PlaceJobRequest{Placement: report.Placement},
			name: report.HostJobId, slots: map[string]uint32{},
			replaced: make(chan struct{})}
		for _, use := range report.Nodes {
			j.slots[use.Name] = use.Slots
		}
		o.jobs[name] = j
		o.use(j.slots, 1)
	}
	if !page.Last {
		return
	}
	// Granted jobs that no page named have ended, unless they are requested again
	// within the settle time.
	var gone []*job
	for name, j := range o.jobs {
		if j.slots != nil && !o.there[name] {
			j.wanted = false
			gone = append(gone, j)
		}
	}
	o.there = map[string]bool{}
	time.AfterFunc(page.SettleTime.AsDuration(), func() { s.settle(o, gone) })
	s.schedule(o)
}

func (s *scheduler) settle(o *overlay, gone []*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range gone {
		if !j.wanted && o.jobs[j.request.Placement.RequestId] == j {
			o.forget(j)
		}
	}
	s.schedule(o)
}

func (s *scheduler) takeReport(o *overlay, incarnation uint64, report *pb.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if report.Sequence <= o.taken[incarnation] {
		return
	}
	o.taken[incarnation] = report.Sequence
	if node := report.GetNode(); node != nil {
		o.setNode(node)
		s.schedule(o)
	}
	if record := report.GetRecord(); record != nil {
		fmt.Printf("job %s of user %d, account %q, ended with exit code %d\n",
			record.HostJobId, record.Caller.User.GetUid(),
			record.Hints.GetAccount(), record.ExitCode)
	}
}

// -------------------------------------------------------------------- errors

// Returns an error with the name of a PMIx status.
func refusal(code codes.Code, reason, text string) error {
	info, err := proto.Marshal(&pb.ErrorInfo{Reason: reason, Domain: "pmix.org"})
	if err != nil {
		return err
	}
	s := status.New(code, text).Proto()
	s.Details = append(s.Details, &any.Any{
		TypeUrl: "type.googleapis.com/google.rpc.ErrorInfo", Value: info})
	return status.ErrorProto(s)
}

func contains(list []string, text string) bool {
	for _, entry := range list {
		if entry == text {
			return true
		}
	}
	return false
}

func min(a, b uint32) uint32 {
	if a < b {
		return a
	}
	return b
}

func max(a, b uint32) uint32 {
	if a > b {
		return a
	}
	return b
}

func main() {
	if len(os.Args) != 2 || !strings.HasPrefix(os.Args[1], "unix:") {
		log.Fatal("usage: scheduler unix:/PATH")
	}
	path := strings.TrimPrefix(os.Args[1], "unix:")
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterHostModuleServiceServer(server, newScheduler())
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	fmt.Println("schedules at", os.Args[1])
	log.Fatal(server.Serve(listener))
}
