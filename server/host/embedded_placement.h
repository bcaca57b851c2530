// Where and when jobs run if no scheduler decides it: at once, wherever there
// is room.
#ifndef CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_
#define CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_

#include <cstdint>
#include <string>

#include "server/ports/placement_port.h"

namespace canopy::host {

// Loop thread only.
class EmbeddedPlacement : public PlacementPort {
 public:
  void set_listener(PlacementListener* listener) override {
    listener_ = listener;
  }
  bool HeedsDirectives() const override { return false; }
  // Granted from within the call, without names of nodes.
  void Place(PlacementRequest request) override {
    listener_->OnGranted(request.id, {});
  }
  void Cancel(const PlacementId&) override {}
  void Launched(const PlacedJob&, bool) override {}
  void Changed(const std::string&, core::JobPhase, uint32_t) override {}
  void Released(const PlacedJob&, const PlacedEnd&) override {}

 private:
  PlacementListener* listener_ = nullptr;
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_
