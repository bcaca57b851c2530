// A fake of a scheduler's service, controlled by a test.
#ifndef CANOPY_SERVER_SCHEDULER_FAKE_SERVICE_CLIENT_H_
#define CANOPY_SERVER_SCHEDULER_FAKE_SERVICE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {

class FakeCall : public AttachCall {
 public:
  void Cancel() override { cancelled = true; }
  void Write(v1::AttachRequest message) override {
    written.push_back(std::move(message));
  }

  bool writes() const override { return false; }

  bool cancelled = false;
  std::vector<v1::AttachRequest> written;
};

// Stores the calls. The test calls their callbacks.
class FakeServiceClient : public ServiceClient {
 public:
  template <typename Request, typename Reply>
  struct Unary {
    Request request;
    Done<Reply> done;
    std::shared_ptr<FakeCall> call = std::make_shared<FakeCall>();
  };
  struct PlaceCall {
    v1::PlaceJobRequest request;
    std::function<void(const v1::PlaceJobResponse&)> on_update;
    std::function<void(const CallEnd&)> on_end;
    std::shared_ptr<FakeCall> call = std::make_shared<FakeCall>();
  };
  struct Stream {
    std::function<void(const v1::AttachResponse&)> on_message;
    std::function<void(const CallEnd&)> on_end;
    std::shared_ptr<FakeCall> call = std::make_shared<FakeCall>();
  };

  bool connected() const override { return is_connected; }

  CallPtr Send(const v1::GetCapabilitiesRequest& request, int64_t,
               Done<v1::GetCapabilitiesResponse> done) override {
    return Keep(&capabilities, request, std::move(done));
  }
  CallPtr Send(const v1::JobLaunchedRequest& request, int64_t,
               Done<v1::JobLaunchedResponse> done) override {
    return Keep(&launched, request, std::move(done));
  }
  CallPtr Send(const v1::JobReleasedRequest& request, int64_t,
               Done<v1::JobReleasedResponse> done) override {
    return Keep(&released, request, std::move(done));
  }
  CallPtr Send(const v1::AllocateRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&allocations, request, std::move(done));
  }
  CallPtr Send(const v1::ControlSessionRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&sessions, request, std::move(done));
  }
  CallPtr Send(const v1::BlockResourcesRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&blocks, request, std::move(done));
  }
  CallPtr Send(const v1::LogRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&logs, request, std::move(done));
  }
  CallPtr Send(const v1::MonitorRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&monitors, request, std::move(done));
  }
  CallPtr Send(const v1::GetCredentialRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&credentials, request, std::move(done));
  }
  CallPtr Send(const v1::ValidateCredentialRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&validations, request, std::move(done));
  }
  CallPtr Send(const v1::QueryRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&queries, request, std::move(done));
  }
  CallPtr Send(const v1::ConnectToolRequest& request, int64_t,
               Done<Results> done) override {
    return Keep(&tools, request, std::move(done));
  }
  CallPtr Place(const v1::PlaceJobRequest& request, int64_t,
                std::function<void(const v1::PlaceJobResponse&)> on_update,
                std::function<void(const CallEnd&)> on_end) override {
    places.push_back({request, std::move(on_update), std::move(on_end)});
    return places.back().call;
  }
  std::shared_ptr<AttachCall> Attach(
      std::function<void(const v1::AttachResponse&)> on_message,
      std::function<void(const CallEnd&)> on_end) override {
    streams.push_back({std::move(on_message), std::move(on_end)});
    return streams.back().call;
  }

  // Answers the newest request for capabilities.
  void Up(std::vector<v1::Feature> features) {
    is_connected = true;
    v1::GetCapabilitiesResponse reply;
    reply.set_name("fake");
    for (const v1::Feature it : features) reply.add_features(it);
    const auto done = capabilities.back().done;
    done({}, reply);
  }

  bool is_connected = true;
  std::vector<Unary<v1::GetCapabilitiesRequest, v1::GetCapabilitiesResponse>>
      capabilities;
  std::vector<Unary<v1::JobLaunchedRequest, v1::JobLaunchedResponse>> launched;
  std::vector<Unary<v1::JobReleasedRequest, v1::JobReleasedResponse>> released;
  std::vector<Unary<v1::AllocateRequest, Results>> allocations;
  std::vector<Unary<v1::ControlSessionRequest, Results>> sessions;
  std::vector<Unary<v1::BlockResourcesRequest, Results>> blocks;
  std::vector<Unary<v1::LogRequest, Results>> logs;
  std::vector<Unary<v1::MonitorRequest, Results>> monitors;
  std::vector<Unary<v1::GetCredentialRequest, Results>> credentials;
  std::vector<Unary<v1::ValidateCredentialRequest, Results>> validations;
  std::vector<Unary<v1::QueryRequest, Results>> queries;
  std::vector<Unary<v1::ConnectToolRequest, Results>> tools;
  std::vector<PlaceCall> places;
  std::vector<Stream> streams;

 private:
  template <typename Request, typename Reply>
  static CallPtr Keep(std::vector<Unary<Request, Reply>>* calls,
                      const Request& request, Done<Reply> done) {
    calls->push_back({request, std::move(done)});
    return calls->back().call;
  }
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_FAKE_SERVICE_CLIENT_H_
